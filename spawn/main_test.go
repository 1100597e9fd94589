package spawn_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(effectsDir); dir != "" {
		os.Exit(workWithEffects(dir)) // a child of the tests of Once, to be killed
	}
	goleak.VerifyTestMain(m)
}
