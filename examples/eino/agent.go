package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/spawn"
)

// turns is how often an agent uses its tool before it answers.
const turns = 3

// A journal is what an agent has reached, whichever attempt it was.
type journal struct {
	messages []*schema.Message // before the next call of the model
	lookUps  int               // what must not be done twice
	answer   string
}

// goOn runs a ReAct agent from where the journal ends.
func (j *journal) goOn(ctx context.Context, client *http.Client, url, id string) error {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		BaseURL: url, Model: "sim-1", APIKey: "none", User: &id, HTTPClient: client,
	})
	if err != nil {
		return err
	}
	lookUp, err := utils.InferTool("look_up", "Looks a word up.", j.lookUp)
	if err != nil {
		return err
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: model,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{lookUp}},
		MessageRewriter:  j.keep,
	})
	if err != nil {
		return err
	}
	if j.messages == nil {
		j.messages = []*schema.Message{schema.UserMessage("What makes a storm pass? Look up what you need.")}
	}
	answer, err := agent.Generate(ctx, j.messages)
	if err != nil {
		return err
	}
	j.answer = answer.Content
	return nil
}

// keep is called before each call of the model, with all that was said so far.
func (j *journal) keep(ctx context.Context, messages []*schema.Message) []*schema.Message {
	if len(messages) > len(j.messages) {
		j.messages = append([]*schema.Message(nil), messages...)
		// holdoff: a call was accepted, and what came of it is kept. From inside the
		// framework the context leads to the attempt.
		if a, ok := spawn.FromContext(ctx); ok {
			a.Progress()
		}
	}
	return messages
}

type word struct {
	Word string `json:"word"`
}

func (j *journal) lookUp(_ context.Context, w *word) (string, error) {
	j.lookUps++
	return w.Word + ": it passes by waiting", nil
}

// script is the model's part: it asks for the tool, turn after turn, and then
// answers.
func script() provider.Script {
	var mu sync.Mutex
	asked := make(map[string]int)
	return func(c provider.Call) provider.Answer {
		mu.Lock()
		defer mu.Unlock()
		if asked[c.Worker]++; asked[c.Worker] <= turns {
			return provider.Answer{Tool: provider.ToolCall{Name: "look_up", Arguments: `{"word":"storm"}`}}
		}
		return provider.Answer{Text: "Patience."}
	}
}
