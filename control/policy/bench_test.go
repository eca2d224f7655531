package policy_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/indusagi/indus/control/policy"
)

// manyRules returns n rules: some name tools, some groups, some have conditions on the arguments.
func manyRules(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "permit(principal in Group::\"team%d\", action, resource in Server::\"s%d\");\n", i, i)
		case 1:
			fmt.Fprintf(&b, "permit(principal in Group::\"dev\", action == Action::\"call\","+
				" resource == Tool::\"github/tool%d\") when { context.args.repo like \"indus*\" };\n", i)
		case 2:
			fmt.Fprintf(&b, "forbid(principal, action == Action::\"call\", resource in Server::\"s%d\")"+
				" when { resource.claims has destructive && resource.claims.destructive };\n", i)
		case 3:
			fmt.Fprintf(&b, "permit(principal == User::\"user%d\", action, resource);\n", i)
		default:
			fmt.Fprintf(&b, "forbid(principal, action == Action::\"call\", resource in Server::\"github\")"+
				" when { context.args has force%d && context.args.force%d == true };\n", i, i)
		}
	}
	b.WriteString(`permit(principal in Group::"dev", action == Action::"call", resource in Server::"github");` + "\n")
	return b.String()
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100} {
		s, err := policy.Parse("policy.cedar", []byte(manyRules(n)))
		if err != nil {
			b.Fatal(err)
		}
		for _, repeated := range []bool{false, true} {
			b.Run(fmt.Sprintf("rules=%d/repeated=%v", n, repeated), func(b *testing.B) {
				r := &policy.Request{
					Principal: policy.Principal{Name: "user:alice", Groups: []string{"dev"}}, Action: policy.Call,
					Item:      policy.Item{Kind: policy.Tool, Server: "github", Name: "tool1"},
					Arguments: json.RawMessage(`{"repo": "indus", "title": "A title", "labels": ["a", "b"], "body": "        "}`),
				}
				number := r.Arguments[len(r.Arguments)-10 : len(r.Arguments)-2]
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if !repeated {
						strconv.AppendInt(number[:0], int64(10_000_000+i%10_000_000), 10)
					}
					if !s.Decide(r).Allowed {
						b.Fatal("denied")
					}
				}
			})
		}
	}
	b.Run("scopes only", func(b *testing.B) {
		s, err := policy.Parse("policy.cedar", []byte(`permit(principal in Group::"dev", action, resource);`))
		if err != nil {
			b.Fatal(err)
		}
		r := &policy.Request{Principal: policy.Principal{Name: "user:alice", Groups: []string{"dev"}}, Action: policy.Call,
			Item: policy.Item{Kind: policy.Tool, Server: "github", Name: "create_issue"}}
		b.ReportAllocs()
		for b.Loop() {
			s.Decide(r)
		}
	})
}

func BenchmarkMayList(b *testing.B) {
	items := make([]policy.Item, 1000)
	for i := range items {
		items[i] = policy.Item{Kind: policy.Tool, Server: "github", Name: fmt.Sprintf("tool%d", i)}
	}
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			s, err := policy.Parse("policy.cedar", []byte(manyRules(n)))
			if err != nil {
				b.Fatal(err)
			}
			r := &policy.Request{Principal: policy.Principal{Name: "user:alice", Groups: []string{"dev"}}}
			b.ReportAllocs()
			for b.Loop() {
				s.MayList(r, items)
			}
		})
	}
}
