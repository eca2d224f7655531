package conn

import (
	"testing"

	"github.com/indusagi/indus/internal/testkit/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
