package main

import (
	"context"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"

	"github.com/holdoff-go/holdoff/spawn"
)

// steps are the prompts of a chain, each for what came of the one before.
var steps = []string{
	"Plan a short report about {{.input}}.",
	"Write the report that this plans: {{.input}}",
	"Make this half as long: {{.input}}",
}

// newChain returns a chain of all steps.
func newChain(model llms.Model) (chains.Chain, error) {
	all := make([]chains.Chain, len(steps))
	for i, step := range steps {
		all[i] = &kept{Chain: chains.NewLLMChain(model, prompts.NewPromptTemplate(step, []string{"input"}))}
	}
	return chains.NewSimpleSequentialChain(all)
}

// A kept step is made once: what came of it is there for the next attempt, when a
// step after it was refused.
type kept struct {
	chains.Chain
	output map[string]any
}

// Call makes the step, unless it has been made.
func (k *kept) Call(ctx context.Context, input map[string]any, options ...chains.ChainCallOption) (map[string]any, error) {
	if k.output != nil {
		return k.output, nil
	}
	output, err := k.Chain.Call(ctx, input, options...)
	if err != nil {
		return nil, err
	}
	k.output = output
	// holdoff: the step was accepted, and will not be repeated. From inside the
	// framework the context leads to the attempt.
	if a, ok := spawn.FromContext(ctx); ok {
		a.Progress()
	}
	return output, nil
}
