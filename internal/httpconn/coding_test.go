package httpconn

import "testing"

// A row may accept the codings that are read, and no other.
func TestReadableCodings(t *testing.T) {
	for accepted, want := range map[string]bool{
		"identity": true, "Identity": true, "gzip": true, "gzip, deflate": true, "x-gzip;q=0.5 , identity; q=0.1": true,
		"identity, *;q=0": true, "br;q=0, gzip": true, "br": false, "gzip, br": false, "gzip, *": false, "zstd;q=0.1": false, "": false,
	} {
		if Readable(accepted) != want {
			t.Errorf("%q: %v", accepted, !want)
		}
	}
}
