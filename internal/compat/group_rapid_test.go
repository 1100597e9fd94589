package compat

import (
	"testing"

	"pgregory.net/rapid"
)

// TestGroupModel_Rapid drives a group and its model through random steps.
func TestGroupModel_Rapid(t *testing.T) {
	checkInBubble(t, func(rt *rapid.T) { driveGroup(rt, from(rt), 80) })
}
