// SPDX-License-Identifier: Apache-2.0
// Reads a compose file as Docker does, by its own library, and prints what it comes to as JSON.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithResolvedPaths(true))
	if err == nil {
		project, wrong := options.LoadProject(context.Background())
		err = wrong
		if err == nil {
			text, wrong := project.MarshalJSON()
			err = wrong
			fmt.Println(string(text))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
