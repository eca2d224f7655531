// Package rank finds the tools or operations that a question means, best first.
//
// [New] builds an [Index] of names, descriptions and names of parameters, and
// [Index.Search] asks it:
//
//	index := rank.New([]rank.Document{
//		{Name: "fs__read_file", Description: "Read a file as text.", Parameters: []string{"path"}},
//		{Name: "git__log", Description: "The history of a branch."},
//	})
//	for _, hit := range index.Search("show the contents of a file", 5, nil) {
//		fmt.Println(hit.Document, hit.Score)
//	}
//
// # Ranking
//
// The measure is BM25F (Robertson and Zaragoza, 2009): how rare a word is, how often it
// stands in which field, and how long that field is; the name counts most, then the first
// sentence of the description. What has more of the words that were asked for goes
// before what has one of them often. Words are those of identifiers too: camelCase,
// snake_case and digits are taken apart, and found together as well. English endings do
// not count, nor do words that every question has. A word that no document has stands for
// those that begin with it or differ from it by a slip or two; some words of the trade
// stand for one another, at half their weight. A query that is a document's name,
// however it is written, finds that first. Equal scores stand in the documents' order, so
// that the same query always has the same answer.
//
// # Bounds
//
// A query is read up to [MaxQuery] bytes and [MaxWords] different words; the rest is left
// out. Any bytes are a query.
//
// # Concurrency
//
// An Index never changes, and any number of goroutines may search it.
package rank
