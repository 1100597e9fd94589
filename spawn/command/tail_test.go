package command

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTail_IsTheEndOfWhatWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		end := &tail{max: 1 + r.IntN(20)}
		var all bytes.Buffer
		for range r.IntN(30) {
			p := make([]byte, r.IntN(50))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			all.Write(p)
			n, err := end.Write(p)
			require.NoError(t, err)
			require.Equal(t, len(p), n)
			want := all.Bytes()[max(0, all.Len()-end.max):]
			require.Equal(t, string(want), string(end.bytes()))
			require.LessOrEqual(t, len(end.buf), 2*end.max)
		}
	}
}
