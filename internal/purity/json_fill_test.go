package purity

import (
	"encoding"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/settlehq/settle/statemachine"
)

// filler gives every field of a value a content that its path in the value decides, so that
// a field which is added changes no other.
type filler struct {
	of      reflect.Type
	path    string
	n       int             // of the path
	structs map[string]bool // by package and name: what was filled
	within  []reflect.Type
}

func (f *filler) fill(v reflect.Value) {
	f.n = 1 + int(crc32.ChecksumIEEE([]byte(f.path))%1000)
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 1, 2, 3, 4, 5, 1000*f.n, time.UTC)
		return
	case *uuid.UUID:
		*p = statemachine.ID("json", fmt.Sprint(f.n))
		return
	case *decimal.Decimal:
		*p = decimal.New(int64(10*f.n+5), -1)
		return
	case encoding.TextUnmarshaler:
		if v.Kind() == reflect.Uint8 || v.Kind() == reflect.String {
			f.text(v, p)
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if slices.Contains(f.within, v.Type()) {
			return
		}
		f.structs[v.Type().PkgPath()+"."+v.Type().Name()] = true
		f.within = append(f.within, v.Type())
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				f.at(field.Name, v.Field(i))
			}
		}
		f.within = f.within[:len(f.within)-1]
	case reflect.Pointer:
		if !slices.Contains(f.within, v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			f.at("", v.Elem())
		}
	case reflect.Slice:
		if !slices.Contains(f.within, v.Type().Elem()) {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			f.at("", v.Index(0))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.at(fmt.Sprint(i), v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.at("key", key)
		f.at("value", value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n % 256))
	default:
		panic(fmt.Sprintf("%v has a %v", f.of, v.Type()))
	}
}

func (f *filler) at(name string, v reflect.Value) {
	was := f.path
	f.path += "." + name
	f.fill(v)
	f.path = was
}

// text gives a value that has a text, such as an enumeration or an exact number, one of its
// texts.
func (f *filler) text(v reflect.Value, p encoding.TextUnmarshaler) {
	if v.Kind() == reflect.Uint8 {
		for n := range uint64(256) {
			v.SetUint(1 + (uint64(f.n)+n)%32)
			if _, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
				return
			}
		}
	}
	for _, text := range []string{fmt.Sprint(f.n), fmt.Sprint("text ", f.n)} {
		if p.UnmarshalText([]byte(text)) == nil {
			return
		}
	}
	panic(fmt.Sprintf("%v: no text is a %v", f.of, v.Type()))
}
