package policy_test

import (
	"encoding/json"
	"fmt"

	"github.com/indusagi/indus/control/policy"
)

func Example() {
	policies, err := policy.Parse("policy.cedar", []byte(`
permit(principal in Group::"dev", action, resource in Server::"github");

@approve("other") @rate("10/h")
permit(principal, action == Action::"call", resource == Tool::"github/merge")
when { context.args.repo == "indus" };

forbid(principal, action, resource == Tool::"github/delete_repo");`))
	if err != nil {
		fmt.Println(err)
		return
	}
	alice := policy.Principal{Name: "user:alice", Groups: []string{"dev"}}
	for _, tool := range []string{"create_issue", "merge", "delete_repo"} {
		verdict := policies.Decide(&policy.Request{
			Principal: alice,
			Action:    policy.Call,
			Item:      policy.Item{Kind: policy.Tool, Server: "github", Name: tool},
			Arguments: json.RawMessage(`{"repo": "indus"}`),
		})
		last := verdict.Rules[len(verdict.Rules)-1]
		fmt.Printf("%s: allowed %v, approval %q, by %s\n", tool, verdict.Allowed, verdict.Approve, last.ID)
	}

	bob := &policy.Request{Principal: policy.Principal{Name: "user:bob"}}
	tools := []policy.Item{
		{Kind: policy.Tool, Server: "github", Name: "create_issue"},
		{Kind: policy.Tool, Server: "github", Name: "merge"},
	}
	fmt.Println("bob sees", policies.MayList(bob, tools))
	// Output:
	// create_issue: allowed true, approval "", by policy.cedar:2
	// merge: allowed true, approval "other", by policy.cedar:4
	// delete_repo: allowed false, approval "", by policy.cedar:8
	// bob sees [false true]
}

func ExampleEngine() {
	engine, err := policy.Open("testdata/policies")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Current().Len(), "rules in", engine.Current().Files())
	changed, err := engine.Reload()
	fmt.Println("changed:", changed, err)
	// Output:
	// 3 rules in [testdata/policies/github.cedar testdata/policies/notes.cedar]
	// changed: false <nil>
}
