// Command pulumi-resource-kubernetes is the Pulumi Kubernetes provider, built from its published
// Go module. The module's own main cannot be built from the module proxy: it embeds files that its
// release process generates. This one embeds the two files they are generated from; the build puts
// them beside this file, out of the module's cmd/pulumi-resource-kubernetes folder.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

// version is set by the build to the version of the module.
var version = "0.0.0"

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version, schema, mapping)
}
