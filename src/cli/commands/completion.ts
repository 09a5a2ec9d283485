import type { Command } from 'commander';

interface Entry {
  name: string;
  description: string;
  flags: Flag[];
  values: string[];
  /** A shell command that lists the items it can be given. */
  ids: string | null;
}

interface Flag {
  long: string;
  description: string;
  takesValue: boolean;
  /** What follows is its one value: no item and no other flag. */
  needsValue: boolean;
}

/** Made from the command tree itself, so that it never lags behind it. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish', program: Command): string {
  const entries: Entry[] = program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    flags: command.options.flatMap(({ long, description, required, optional, variadic }) =>
      long ? [{ long, description, takesValue: required || optional, needsValue: required && !variadic }] : [],
    ),
    values:
      command.name() === 'help'
        ? program.commands.map((other) => other.name())
        : command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ids: idsOf(command.name()),
  }));
  switch (shell) {
    case 'bash':
      return bash(entries);
    case 'zsh':
      return zsh(entries);
    case 'fish':
      return fish(entries);
  }
}

interface ItemFiles {
  folders: readonly string[];
  /** In front of the id. */
  prefix?: string;
}

/** Where the items of a command are, in the repository. */
const ITEMS: Readonly<Record<string, ItemFiles>> = {
  lld: { folders: ['issues'] },
  issue: { folders: ['briefs'] },
  implement: { folders: ['docs/lld'], prefix: 'LLD-' },
  run: { folders: ['issues'] },
  eval: { folders: ['docs/lld'], prefix: 'LLD-' },
  decide: { folders: ['issues', 'briefs'] },
  logs: { folders: ['issues', 'briefs'] },
};

function idsOf(command: string): string | null {
  const files = ITEMS[command];
  return files === undefined ? null : listIds(files);
}

/**
 * Lists ids, wherever in the repository the user stands. Only what is an id is let through: a shell expands the words it is
 * given here, so a file called `$(…).md` would be run.
 */
function listIds({ folders, prefix = '' }: ItemFiles): string {
  const paths = folders.map((folder) => `"$(git rev-parse --show-toplevel 2>/dev/null)/${folder}"`);
  const ids = `sed -n 's/^${prefix}\\([a-zA-Z0-9_-]\\{1,64\\}\\)\\.md$/\\1/p'`;
  return `ls ${paths.join(' ')} 2>/dev/null | ${ids} | grep -vix readme`;
}

function bash(entries: Entry[]): string {
  const cases = entries
    .map(({ name, flags, values, ids }) => {
      const words = ids === null ? values.join(' ') : `$(${ids})`;
      return `    ${name}) flags="${flags.map((flag) => flag.long).join(' ')} --help" words="${words}" ;;`;
    })
    .join('\n');
  const withValue = entries.flatMap(({ flags }) => flags.filter((flag) => flag.needsValue).map((flag) => flag.long));
  return `# bash completion for agentos
_agentos() {
  local current="\${COMP_WORDS[COMP_CWORD]}" flags="" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${entries.map((entry) => entry.name).join(' ')} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    ${[...new Set(withValue)].join('|')}) return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases}
  esac
  case "$current" in
    -*) words="$flags" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _agentos agentos
`;
}

function zsh(entries: Entry[]): string {
  const quote = (text: string): string =>
    text.replaceAll("'", "'\\''").replaceAll(':', '\\:').replaceAll('[', '\\[').replaceAll(']', '\\]');
  const commands = entries.map(({ name, description }) => `    '${name}:${quote(description)}'`).join('\n');
  const cases = entries
    .map(({ name, flags, values, ids }) => {
      const options = flags.map(
        (flag) => `'${flag.long}[${quote(flag.description)}]${flag.takesValue ? ':value:_default' : ''}'`,
      );
      const listed = ids === null ? '' : `local -a ids; ids=(\${(f)"$(${ids})"}); `;
      const rest = listed
        ? '"*:id:(${ids[*]})"'
        : values.length > 0
          ? `'*:value:(${values.join(' ')})'`
          : `'*:file:_files'`;
      return `    ${name}) ${listed}_arguments ${[...options, rest].join(' ')} ;;`;
    })
    .join('\n');
  return `#compdef agentos
_agentos() {
  local -a commands
  commands=(
${commands}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases}
  esac
}
if [ "$funcstack[1]" = _agentos ]; then
  _agentos "$@"
else
  compdef _agentos agentos
fi
`;
}

function fish(entries: Entry[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = ['# fish completion for agentos', 'complete -c agentos -f -n __fish_use_subcommand'];
  for (const { name, description, flags, values, ids } of entries) {
    const inside = `-n '__fish_seen_subcommand_from ${name}'`;
    lines.push(`complete -c agentos -f -n __fish_use_subcommand -a ${name} -d ${quote(description)}`);
    for (const flag of flags) {
      lines.push(
        `complete -c agentos ${inside} -l ${flag.long.slice(2)} -d ${quote(flag.description)}${flag.takesValue ? ' -r' : ''}`,
      );
    }
    if (values.length > 0) lines.push(`complete -c agentos -f ${inside} -a ${quote(values.join(' '))}`);
    if (ids !== null) lines.push(`complete -c agentos -f ${inside} -a ${quote(`(${ids})`)}`);
  }
  return `${lines.join('\n')}\n`;
}
