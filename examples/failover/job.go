package main

import (
	"context"
	"sync/atomic"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// turns are the calls of the job. Before the third one it sends a message.
var turns = []string{"collect the figures", "find what is odd", "write the report", "check it"}

const sendBefore = 2

// A desk runs jobs on two subscriptions.
type desk struct {
	subscriptions *pool.Pool[string] // of their tokens
	spawner       *spawn.Spawner
	client        *client
	journal       *journal
	sent          atomic.Int64
}

func newDesk(c *client, j *journal) (*desk, error) {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		return nil, err
	}
	subscriptions, err := pool.New(pool.Config[string]{
		Group: group,
		Credentials: []pool.Credential[string]{
			{ID: "work", Value: workToken},
			{ID: "home", Value: homeToken},
		},
		OnEvent: j.pool,
	})
	if err != nil {
		return nil, err
	}
	spawner, err := spawn.New(spawn.Config{
		Limiter: group.Of(limiter.Key{Scope: "provider", Name: "loopback"}),
		Pool:    subscriptions,
		OnEvent: j.worker,
	})
	if err != nil {
		return nil, err
	}
	return &desk{subscriptions: subscriptions, spawner: spawner, client: c, journal: j}, nil
}

// job goes on where the last attempt has saved, with the subscription that is in use.
func (d *desk) job(ctx context.Context, a *spawn.Attempt) error {
	done, _ := a.Checkpoint().(int)
	for ; done < len(turns); done++ {
		if done == sendBefore {
			if err := a.Once(ctx, "message", d.send); err != nil {
				return err
			}
		}
		if err := a.Wait(ctx); err != nil {
			return err
		}
		subscription, _ := d.subscriptions.From(ctx)
		tokens, err := d.client.ask(ctx, subscription.Value, a.WorkerID(), turns[done])
		a.Spend(tokens)
		if err != nil {
			return err // classified; holdoff knows what to do
		}
		a.Progress()
		a.Save(done + 1)
		d.journal.say("turn %d, %q, on %s: %d tokens", done+1, turns[done], subscription.ID, tokens)
	}
	return nil
}

// send is the effect: nobody wants the message twice.
func (d *desk) send(context.Context) error {
	d.sent.Add(1)
	d.journal.say("the message \"half way\" is sent")
	return nil
}
