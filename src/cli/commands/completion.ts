import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { isItemId } from '../../core/ids.ts';
import { plainEnvironment } from '../../core/keys.ts';
import { findRepository } from '../../git/repository.ts';
import { namesInside } from '../../process/files.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** Each asks this program what may follow, so that it never lags behind it. Where nothing is known, the shell completes file names. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for agentos
_agentos() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _agentos agentos
`,
  zsh: `#compdef agentos
_agentos() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [ -n "$found" ]; then _describe agentos found; else _files; fi
}
if [ "$funcstack[1]" = _agentos ]; then
  _agentos "$@"
else
  compdef _agentos agentos
fi
`,
  fish: `# fish completion for agentos
function __agentos_complete
  set -l words (commandline -opc)
  $words[1] completion fish -- $words[2..] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c agentos -a '(__agentos_complete)'
`,
};

/** Prints the script for a shell. With words, for that script: what may stand in place of the last one. */
export async function completionCommand(
  shell: Shell,
  words: string[],
  _flags: object,
  program: Command,
): Promise<void> {
  if (words.length === 0) {
    process.stdout.write(SCRIPTS[shell]);
    return;
  }
  const last = words.at(-1) ?? '';
  for (const [word, does] of (await following(program, words)).filter(([word]) => word.startsWith(last))) {
    const shown = { bash: word, zsh: `${word.replaceAll(':', '\\:')}:${does}`, fish: `${word}\t${does}` };
    process.stdout.write(`${shown[shell]}\n`);
  }
}

type Candidate = readonly [word: string, does: string];

async function following(program: Command, words: readonly string[]): Promise<Candidate[]> {
  const commands = program.commands.map((command): Candidate => [command.name(), command.description()]);
  if (words.length === 1) return [...commands, ['--help', 'show help'], ['--version', 'show the version']];
  const command = program.commands.find((candidate) => candidate.name() === words[0]);
  if (command === undefined) return [];
  const [before, last] = words.slice(-2);
  const flag = command.options.find(({ long }) => long === before);
  // Its one value, no item and no other flag.
  if (flag?.required && !flag.variadic) return (flag.argChoices ?? []).map((choice) => [choice, '']);
  if (last?.startsWith('-'))
    return [...command.options.map(({ long, description }): Candidate => [long ?? '', description]), ['--help', '']];
  if (command.name() === 'help') return commands;
  const below = command.commands.map((candidate): Candidate => [candidate.name(), candidate.description()]);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return [...below, ...[...choices, ...(await idsFor(command))].map((word): Candidate => [word, ''])];
}

/** The items of the repository that the command can be given. */
async function idsFor(command: Command): Promise<string[]> {
  const argument = command.registeredArguments[0]?.name() ?? '';
  const isDesigned = ['implement', 'eval', 'react', 'land'].includes(command.name());
  const folders: Readonly<Record<string, readonly string[]>> = {
    ids: isDesigned ? ['docs/lld'] : ['issues'],
    briefs: ['briefs'],
    id: ['issues', 'briefs'],
  };
  const repository = await findRepository(resolve('.'), plainEnvironment(process.env)).catch(() => null);
  if (repository === null) return [];
  const names = (folders[argument] ?? []).flatMap((folder) => namesInside(join(repository, folder), repository));
  return [...new Set(names)]
    .filter((name) => name.endsWith('.md') && name.startsWith(isDesigned ? 'LLD-' : ''))
    .map((name) => name.slice(isDesigned ? 'LLD-'.length : 0, -'.md'.length))
    .filter((id) => isItemId(id) && id.toLowerCase() !== 'readme')
    .sort();
}
