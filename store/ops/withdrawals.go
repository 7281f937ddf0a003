package ops

import (
	"fmt"
	"strings"
	"time"

	"github.com/settlehq/settle/withdrawal"
)

// Masked hides the middle of what a thief could use: the first six and the last four characters
// stay of a text of more than twelve, and none of a shorter one.
func Masked(text string) string {
	runes := []rune(text)
	if len(runes) > 12 {
		return string(runes[:6]) + "..." + string(runes[len(runes)-4:])
	}
	return strings.Repeat("*", len(runes))
}

// Sentence says who moves a withdrawal on, and when, for a person who has not read the source.
// step is what [withdrawal.Policy.Next] says of it.
func Sentence(w *withdrawal.Withdrawal, step withdrawal.Step) string {
	switch {
	case step.Party == withdrawal.Operator && w.Job.Review:
		text := "In review. An operator must decide; nothing happens before."
		if w.Job.DispatchRef != "" {
			text += " Paying again is not safe: reference " + w.Job.DispatchRef + " was called."
		}
		return text
	case step.Party == withdrawal.Operator:
		return "It waits for an operator."
	case step.Party == withdrawal.Approver:
		return fmt.Sprintf("It waits for an approver; %d are needed.", w.Request.ApprovalsNeeded)
	case step.Party == 0:
		return "It has ended, and nobody owes anything."
	case step.Due.IsZero():
		return fmt.Sprintf("It goes on by itself: %s.", step.Party)
	}
	return fmt.Sprintf("It goes on by itself: %s, asked again at %s.", step.Party, step.Due.UTC().Format(time.RFC3339))
}
