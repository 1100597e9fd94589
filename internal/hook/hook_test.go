package hook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/hook"
)

func TestCall(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	called := false
	hook.Call(logger, "Config.OnEvent", func() { called = true })
	require.True(t, called)
	require.Empty(t, log.String())

	hook.Call(logger, "Config.OnEvent", func() { panic("boom") })
	require.Contains(t, log.String(), "holdoff: Config.OnEvent panicked")
	require.Contains(t, log.String(), "boom")
	require.Contains(t, log.String(), "TestCall", "the stack says where")
}

func TestCallDiscreetly(t *testing.T) {
	var log bytes.Buffer
	hook.CallDiscreetly(slog.New(slog.NewTextHandler(&log, nil)), "Config.Fingerprint", func() { panic(errors.New("sk-secret")) })
	require.Contains(t, log.String(), "holdoff: Config.Fingerprint panicked")
	require.Contains(t, log.String(), "*errors.errorString")
	require.NotContains(t, log.String(), "sk-secret")
}

func TestCall_TheLoggerPanicsToo(t *testing.T) {
	hook.Call(slog.New(broken{}), "Config.Logger", func() { panic("boom") })
}

type broken struct{ slog.Handler }

func (broken) Enabled(context.Context, slog.Level) bool { panic("broken") }
