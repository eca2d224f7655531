package command

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/indusagi/indus/internal/text"
)

const (
	// ReleasesPage has the released files.
	ReleasesPage = "https://github.com/indusagi/indus/releases"
	// newestWait bounds the request for the newest version.
	newestWait = 10 * time.Second
	// maxNewestHeader bounds the header of the answer, in bytes. Its body is not read.
	maxNewestHeader = 16 << 10
)

var releaseTag = text.Pattern(`^v[0-9]{1,5}(\.[0-9]{1,5}){2}(-[0-9A-Za-z.-]{1,40})?$`)

// newestVersion returns the newest released version. The page of the latest release redirects to the page of its tag.
func newestVersion(ctx context.Context, releases string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, newestWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, releases+"/latest", nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxNewestHeader, DisableKeepAlives: true,
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return "", newestUnknown("%w; see %s when you are online", err, releases)
	}
	defer res.Body.Close()
	location := res.Header.Get("Location")
	tag, ok := strings.CutPrefix(location, releases+"/tag/")
	if res.StatusCode != http.StatusFound || !ok || !releaseTag().MatchString(tag) {
		return "", newestUnknown("%s/latest answers %d and names no release, but %.200q; "+
			"there may be none yet", releases, res.StatusCode, text.OneLine(location))
	}
	return tag, nil
}

func newestUnknown(format string, args ...any) error {
	return &ExitError{Code: ExitUnreachable, Err: fmt.Errorf("the newest version is not known: "+format, args...)}
}
