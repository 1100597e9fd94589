package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
)

// A refusal of one model leaves the others of its account alone; what the provider
// says is the account's, concerns them all.
func ExampleGroup() {
	group, err := limiter.NewGroup(limiter.GroupConfig{
		Config: func(k limiter.Key) limiter.Config {
			return limiter.Config{Budget: map[string]int{"account": 64, "model": 16}[k.Scope]}
		},
	})
	if err != nil {
		panic(err)
	}
	acme := limiter.Key{Scope: "account", Name: "acme"}
	flash := group.Of(acme, limiter.Key{Scope: "model", Name: "acme/flash"})
	pro := group.Of(acme, limiter.Key{Scope: "model", Name: "acme/pro"})

	try := func(name string, gate *limiter.Gate) {
		slot, err := gate.TryAcquire()
		var blocked *limiter.BlockedError
		if errors.As(err, &blocked) {
			fmt.Println(name, "waits for", blocked.Name)
			return
		}
		fmt.Println(name, "goes")
		slot.Release()
	}

	slot, err := flash.Acquire(context.Background())
	if err != nil {
		panic(err)
	}
	slot.ReportRateLimited(time.Minute) // nothing more is known: the narrowest
	try("flash", flash)
	try("pro", pro)
	slot.At("account").ReportRateLimited(time.Hour)
	try("pro", pro)
	slot.Release()
	// Output:
	// flash waits for model:acme/flash
	// pro goes
	// pro waits for account:acme
}

// What an operator sees and does: which limiter is shut and until when, and to shut
// one by hand.
func ExampleGroup_Status() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	group.Of(limiter.Key{Scope: "model", Name: "flash"}).ReportRateLimited(time.Hour)
	group.Of(limiter.Key{Scope: "account", Name: "acme"}).Hold("billing")
	for _, st := range group.Status() {
		fmt.Println(st.Name, st.Reason, st.Hold)
	}
	// Output:
	// account:acme hold billing
	// model:flash rate_limited
}

// A host that reads the scope of a refusal reports it with the names in order of
// preference: an organization's limit is the account's where there is no key for the
// organization.
func ExampleSlot_At() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	gate := group.Of(limiter.Key{Scope: "account", Name: "acme"}, limiter.Key{Scope: "model", Name: "acme/flash"})
	slot, err := gate.Acquire(context.Background())
	if err != nil {
		panic(err)
	}
	defer slot.Release()
	slot.At("org", "account").ReportRateLimited(0)
	fmt.Println(gate.Status().Name)
	// Output: account:acme
}

// Work whose key is used up goes on with another, and keeps its place meanwhile.
func ExampleGate_Exchange() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	provider := limiter.Key{Scope: "provider", Name: "acme"}
	slot, err := group.Of(provider, limiter.Key{Scope: "key", Name: "work"}).TryAcquire()
	if err != nil {
		panic(err)
	}
	slot, err = group.Of(provider, limiter.Key{Scope: "key", Name: "home"}).Exchange(slot)
	if err != nil {
		panic(err)
	}
	defer slot.Release()
	for _, s := range group.Status() {
		fmt.Println(s.Name, s.InFlight)
	}
	// Output:
	// key:home 1
	// key:work 0
	// provider:acme 1
}
