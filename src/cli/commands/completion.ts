import type { Command } from 'commander';

interface Entry {
  name: string;
  description: string;
  flags: { long: string; description: string; takesValue: boolean }[];
  values: string[];
}

/** Made from the command tree itself, so that it never lags behind it. */
export function completionScript(shell: 'bash' | 'zsh' | 'fish', program: Command): string {
  const entries: Entry[] = program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    flags: command.options.flatMap((option) =>
      option.long
        ? [{ long: option.long, description: option.description, takesValue: option.required || option.optional }]
        : [],
    ),
    values: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
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

/** Item ids are the files in issues/, wherever in the repository the user stands. */
const LIST_IDS = `ls "$(git rev-parse --show-toplevel 2>/dev/null)/issues" 2>/dev/null | sed -n 's/\\.md$//p'`;

function bash(entries: Entry[]): string {
  const cases = entries
    .map(({ name, flags, values }) => {
      const words = [...flags.map((flag) => flag.long), ...values].join(' ');
      return `    ${name}) words="${words}${takesIds(name) ? ` $(${LIST_IDS})` : ''}" ;;`;
    })
    .join('\n');
  return `# bash completion for agentos
_agentos() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${entries.map((entry) => entry.name).join(' ')} help --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases}
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
    .map(({ name, flags, values }) => {
      const options = flags.map(
        (flag) => `'${flag.long}[${quote(flag.description)}]${flag.takesValue ? ':value:_default' : ''}'`,
      );
      const rest =
        values.length > 0
          ? `'*:value:(${values.join(' ')})'`
          : takesIds(name)
            ? `"*:id:(\${(f)\\"$(${LIST_IDS})\\"})"`
            : `'*:file:_files'`;
      return `    ${name}) _arguments ${[...options, rest].join(' ')} ;;`;
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
compdef _agentos agentos
`;
}

function fish(entries: Entry[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = ['# fish completion for agentos', 'complete -c agentos -f -n __fish_use_subcommand'];
  for (const { name, description, flags, values } of entries) {
    const inside = `-n '__fish_seen_subcommand_from ${name}'`;
    lines.push(`complete -c agentos -f -n __fish_use_subcommand -a ${name} -d ${quote(description)}`);
    for (const flag of flags) {
      lines.push(
        `complete -c agentos ${inside} -l ${flag.long.slice(2)} -d ${quote(flag.description)}${flag.takesValue ? ' -r' : ''}`,
      );
    }
    if (values.length > 0) lines.push(`complete -c agentos -f ${inside} -a ${quote(values.join(' '))}`);
    if (takesIds(name)) lines.push(`complete -c agentos -f ${inside} -a ${quote(`(${LIST_IDS})`)}`);
  }
  return `${lines.join('\n')}\n`;
}

function takesIds(name: string): boolean {
  return name === 'lld' || name === 'logs';
}
