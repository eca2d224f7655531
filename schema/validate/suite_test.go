package validate_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/indusagi/indus/schema/validate"
)

// TestTheOfficialSuite runs the JSON Schema Test Suite (github.com/json-schema-org/JSON-Schema-Test-Suite, MIT, commit
// 44401e0c). It runs all required tests of draft 4 to 2020-12, without the tests of remote references and vocabularies.
// New refuses only schemas with dynamic references or references out of the document.
func TestTheOfficialSuite(t *testing.T) {
	f, err := os.Open("testdata/suite.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	judged, unread := 0, 0
	for lines := json.NewDecoder(unzipped); ; {
		var group struct {
			File, About string
			Schema      json.RawMessage
			Tests       []struct {
				About string
				Data  json.RawMessage
				Valid bool
			}
		}
		if err := lines.Decode(&group); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		v, err := validate.New(group.Schema)
		if err != nil {
			t.Logf("%s: %s: %v", group.File, group.About, err)
			unread++
			continue
		}
		for _, tt := range group.Tests {
			judged++
			err := v.Validate(tt.Data)
			if _, misfits := errors.AsType[*validate.Error](err); misfits == tt.Valid || err != nil && !misfits {
				t.Errorf("%s: %s: %s: %v", group.File, group.About, tt.About, err)
			}
		}
	}
	if judged < 4600 || unread > 36 {
		t.Errorf("%d judged, %d schemas unread", judged, unread)
	}
}
