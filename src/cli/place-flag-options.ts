import type { Command } from 'commander';

/** Flags that say where: every command that looks at a repository has them. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option('--repo <dir>', 'target repository (default: the one around the current directory)')
    .option('--base-dir <dir>', 'state folder (default: .agentos in the repository, or AGENTOS_HOME)')
    .option('--config <file>', 'configuration (default: agentos.yaml in the repository)');
}
