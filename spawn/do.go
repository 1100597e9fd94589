package spawn

import (
	"context"
	"errors"
)

// Do runs f as a worker of s and returns the value of the attempt that
// succeeded. Otherwise it returns the zero value and the error of Spawner.Run.
func Do[T any](ctx context.Context, s *Spawner, f func(context.Context, *Attempt) (T, error)) (T, error) {
	var value T
	if f == nil {
		return value, errors.New("spawn: Do: the function is nil: it is required")
	}
	// Attempts come one after the other, and Run returns after the last.
	_, err := s.Run(ctx, Worker{Run: func(ctx context.Context, a *Attempt) error {
		v, err := f(ctx, a)
		if err == nil {
			value = v
		}
		return err
	}})
	return value, err
}
