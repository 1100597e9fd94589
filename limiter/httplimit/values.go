package httplimit

// values splits JSON: a message is one object, alone, of several that follow one
// another in lines, or of an array. It gives up at what is neither object nor
// array, and at an object larger than maxMessage.
type values struct {
	buf      []byte // of the object, what came before the present piece
	depth    int
	array    bool // the objects are elements of one
	inString bool
	escaped  bool
	lost     bool
}

func (s *values) next(p []byte) (message, rest []byte) {
	start := 0 // of the object, in p
	for i := 0; i < len(p) && !s.lost; i++ {
		switch c := p[i]; {
		case s.escaped:
			s.escaped = false
		case s.inString:
			for i < len(p)-1 && p[i] != '"' && p[i] != '\\' {
				i++
			}
			s.escaped, s.inString = p[i] == '\\', p[i] != '"'
		case s.depth == 0:
			start = i
			s.open(c)
		case c == '"':
			s.inString = true
		case c == '{', c == '[':
			s.depth++
		case c == '}', c == ']':
			if s.depth--; s.depth > 0 {
				continue
			}
			if len(s.buf) == 0 && i+1-start <= maxMessage {
				return p[start : i+1], p[i+1:]
			}
			if s.keep(p[start : i+1]); s.lost {
				return nil, nil
			}
			message, s.buf = s.buf, s.buf[:0]
			return message, p[i+1:]
		}
	}
	if s.depth > 0 {
		s.keep(p[start:])
	}
	return nil, nil
}

// open takes a byte between objects.
func (s *values) open(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n', ',', '\x1e': // RFC 7464 begins each with the last
	case '{':
		s.depth = 1
	case '[':
		s.lost = s.array
		s.array = true
	case ']':
		s.lost = !s.array
		s.array = false
	default:
		s.lost = true
	}
}

func (s *values) keep(p []byte) {
	if s.lost = s.lost || len(p) > maxMessage-len(s.buf); !s.lost {
		s.buf = append(s.buf, p...)
	}
}

func (s *values) rest() []byte { return s.buf }

func (s *values) blind() bool { return s.lost }
