import type { LoadFailure } from '../port.ts';
import { hasFile } from '../project.ts';
import { textsIn, together } from '../reports/report.ts';
import { parseTrx } from '../reports/trx.ts';
import { type Changes, changedCalls, type Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { isTestOf } from '../test-files.ts';
import { compileFailures, isEachNamed, withFilesOfClasses } from './compiled.ts';

export const dotnet: Runner = {
  name: 'dotnet',
  isMissingCode: isDotnetMissing,
  sign: (project) => (hasFile(project, /\.(slnx?|[cf]sproj|vbproj)$/) ? 'named' : null),
  usualCommand: async () => 'dotnet test',
  headAt: (names, at) => (names[at] === 'dotnet' && names[at + 1] === 'test' ? at + 1 : null),

  select(call, files) {
    const isFiltered = optionsMatching(call, /^--filter(=|$)/).length > 0;
    if (isFiltered || files.length === 0 || !files.every((file) => isTestOf('dotnet', file))) return null;
    const classes = files.map((file) => /([^/]+)\.\w+$/.exec(file)?.[1] ?? '');
    return { last: ['--filter', classes.map((name) => `FullyQualifiedName~.${name}.`).join('|')] };
  },

  async instrument(script, { folder }) {
    const changes = await changedCalls(script, 'dotnet', (call) => ({
      remove: optionsMatching(call, /^--nologo$/, /^(-r|--results-directory)(=|$)/),
      last: ['--logger', 'trx', '--results-directory', folder],
    }));
    return { changes, env: { DOTNET_CLI_TELEMETRY_OPTOUT: '1', DOTNET_NOLOGO: '1', DOTNET_CLI_UI_LANGUAGE: 'en' } };
  },

  async read({ worktree, folder, pathInWorktree }, output) {
    const readings = (await textsIn(folder, /\.trx$/)).map(parseTrx).filter((reading) => reading !== null);
    const broken = output.exitCode === 0 ? [] : compileFailures(output, ERROR, pathInWorktree);
    if (readings.length === 0 && broken.length === 0 && output.exitCode !== 0) return null;
    const { cases } = together(readings);
    return { cases: await withFilesOfClasses(cases, worktree, 'cs,fs,vb'), loadFailures: broken };
  },
};

const ERROR = /^\s*(?<path>\S[^(]*\.(?:cs|fs|vb))\(\d+,\d+\): error /;
/** A type, a name, a member, a namespace, a member of an instance; in F#: any name. */
const NOT_FOUND = /\b(?:CS0246|CS0103|CS0117|CS0234|CS1061|CS0400|CS0426|FS0039)\b/;

function isDotnetMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!/\.(cs|fs|vb)$/.test(file ?? '')) return null;
  const errors = message.split('\n').flatMap((line) => {
    const found = ERROR.exec(line);
    return found === null ? [] : [line.slice(found[0].length).replace(/\s*\[[^\]]*\]$/, '')];
  });
  return isEachNamed(errors, NOT_FOUND, changes);
}
