package bridge_test

import (
	"testing"

	"github.com/indusagi/indus/internal/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }
