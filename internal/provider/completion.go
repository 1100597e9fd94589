package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// reply is what an accepted call is told unless its Answer has a Text.
const reply = "Noted, and on to the next step."

// The chat-completions shape, as far as clients read it.
type (
	completion struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   *usage   `json:"usage,omitempty"`
	}
	choice struct {
		Index        int      `json:"index"`
		Message      *message `json:"message,omitempty"` // whole answers
		Delta        *message `json:"delta,omitempty"`   // streamed pieces
		FinishReason *string  `json:"finish_reason"`
	}
	message struct {
		Role      string     `json:"role,omitempty"`
		Content   string     `json:"content"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		TotalTokens      int `json:"total_tokens"`
	}
	envelope struct {
		Error problem `json:"error"`
	}
	problem struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
)

func (s *Server) completion(object string, c Call) completion {
	return completion{
		ID:      fmt.Sprintf("chatcmpl-sim-%06d", c.N),
		Object:  object,
		Created: s.clock.Now().Unix(),
		Model:   c.Model,
	}
}

// reply writes an accepted call's answer, half of it when the answer is Broken.
func (s *Server) reply(w http.ResponseWriter, req request, c Call, a Answer) {
	text := a.Text
	if text == "" {
		text = reply
	}
	headers(w, c, a)
	if req.Stream {
		s.stream(w, c, text, a, true)
		return
	}
	said, finish := answered(text, c, a.Tool)
	// A token is about four bytes of English; clients only want a number here.
	u := usage{PromptTokens: max(1, req.size/4), CompletionTokens: max(1, len(text)/4)}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	done := s.completion("chat.completion", c)
	done.Choices = []choice{{Message: &said, FinishReason: &finish}}
	done.Usage = &u
	body := encode(done)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if a.Broken {
		_, _ = w.Write(body[:len(body)/2])
		cut(w)
	}
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// answered is what the model said, and why it stopped.
func answered(text string, c Call, tool ToolCall) (message, string) {
	if tool.Name == "" {
		return message{Role: "assistant", Content: text}, "stop"
	}
	return message{Role: "assistant", ToolCalls: []toolCall{{
		ID: fmt.Sprintf("call_sim_%06d", c.N), Type: "function", Function: function(tool),
	}}}, "tool_calls"
}

// refuse writes the error envelope, or with Late lets it follow a 200.
func (s *Server) refuse(w http.ResponseWriter, req request, c Call, a Answer) {
	headers(w, c, a)
	if !a.Late {
		writeError(w, a)
		return
	}
	if req.Stream {
		s.stream(w, c, reply, a, false)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(a.envelope()))
}

// stream writes server-sent events, a word each. A whole stream ends in [DONE]
// unless the answer is Broken; any other ends halfway with the error as an event.
func (s *Server) stream(w http.ResponseWriter, c Call, text string, a Answer, whole bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	words := strings.SplitAfter(text, " ")
	if !whole || a.Broken {
		words = words[:(len(words)+1)/2]
	}
	for i, word := range words {
		piece := &message{Content: word}
		if i == 0 {
			piece.Role = "assistant"
		}
		s.event(w, c, choice{Delta: piece})
	}
	switch {
	case !whole:
		data(w, encode(a.envelope()))
	case a.Broken:
		cut(w)
	default:
		stop := "stop"
		s.event(w, c, choice{Delta: &message{}, FinishReason: &stop})
		data(w, []byte("[DONE]"))
	}
}

func (s *Server) event(w http.ResponseWriter, c Call, ch choice) {
	chunk := s.completion("chat.completion.chunk", c)
	chunk.Choices = []choice{ch}
	data(w, encode(chunk))
}

// data writes one event and sends it off: a stream shows its first word before
// its last one exists.
func data(w http.ResponseWriter, payload []byte) {
	_, _ = fmt.Fprintf(w, "data: %s\n\n", payload)
	flush(w)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// cut sends what was written and breaks the connection, which net/http does for a
// handler that panics so.
func cut(w http.ResponseWriter) {
	flush(w)
	panic(http.ErrAbortHandler)
}

func headers(w http.ResponseWriter, c Call, a Answer) {
	h := w.Header()
	h.Set("X-Request-Id", fmt.Sprintf("req_sim_%06d", c.N))
	a.state(h)
	maps.Copy(h, a.Header)
}

func writeError(w http.ResponseWriter, a Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Status)
	_, _ = w.Write(encode(a.envelope()))
}

func (a Answer) envelope() envelope {
	p := problem{Message: a.Message, Type: a.Type}
	if a.Code != "" {
		p.Code = &a.Code
	}
	return envelope{Error: p}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the shapes above always encode
	}
	return b
}
