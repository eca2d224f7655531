package validate

import (
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// The library compares numbers as fractions of whole numbers, and 1e999999 has a million digits. Nobody means a number
// beyond these: the largest float64 has 309 digits.
const (
	maxDigits   = 400
	maxExponent = 400
)

var errNumber = errors.New("there is a number that is too long")

// checkNumbers bounds what it takes to calculate with the numbers within v.
func checkNumbers(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if err := checkNumbers(member); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkNumbers(item); err != nil {
				return err
			}
		}
	case json.Number:
		if len(v) > maxDigits || exponent(v) > maxExponent {
			return errNumber
		}
	}
	return nil
}

// exponent is how large the exponent of a number is, without its sign.
func exponent(n json.Number) int {
	at := strings.IndexAny(string(n), "eE")
	if at < 0 {
		return 0
	}
	e, err := strconv.Atoi(strings.TrimLeft(string(n[at+1:]), "+-"))
	if err != nil {
		return maxExponent + 1
	}
	return e
}

// atMost is n, or limit if n is a whole number above it.
func atMost(n json.Number, limit int64) json.Number {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok || !r.IsInt() || r.Num().Cmp(big.NewInt(limit)) <= 0 {
		return n
	}
	return json.Number(strconv.FormatInt(limit, 10))
}
