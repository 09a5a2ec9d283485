import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { loadMessage } from '../message.ts';
import { goEvent, parseGoEvents } from '../reports/go-events.ts';
import { parseGoProfile } from '../reports/go-profile.ts';
import type { Runner } from '../runner.ts';
import { plainArguments, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { createFindGoTest } from './go-tests.ts';
import { textsIn } from './report-files.ts';

const TAKES_VALUE = new Set(
  `-run -skip -bench -count -timeout -parallel -p -tags -cpu -coverpkg -coverprofile -covermode -ldflags
  -gcflags -mod -modfile -o -exec -vet -shuffle -fuzz -fuzztime`.split(/\s+/),
);

export const go: Runner = {
  select(script, files) {
    const [call, ...others] = runnerCalls(script).filter(({ runner }) => runner === 'go');
    const tests = files.filter((file) => file.endsWith('_test.go') && !/(^|\/)testdata\//.test(file));
    if (call === undefined || others.length > 0 || tests.length === 0) return script;
    const folders = new Set(tests.map((file) => (dirname(file) === '.' ? '.' : `./${dirname(file)}`)));
    const remove = plainArguments(call, TAKES_VALUE);
    return withCallsChanged(script, new Map([[call, { remove, last: [...folders] }]]));
  },

  async instrument(script, place, coverage) {
    const calls = runnerCalls(script).filter(({ runner }) => runner === 'go');
    // A workspace file of a folder above is not about this worktree.
    const isOutside = place.env.GOWORK === undefined && !existsSync(join(place.worktree, 'go.work'));
    const env: Record<string, string> = isOutside ? { GOWORK: 'off' } : {};
    // A script that hides the command still passes on the variable.
    if (calls.length === 0) return { script, env: { ...env, GOFLAGS: `${place.env.GOFLAGS ?? ''} -json`.trim() } };
    const changes = calls.map((call, index) => {
      const hasOption = (name: RegExp): boolean => call.words.some(({ text }) => name.test(text));
      const profile = join(place.folder, `profile-${index}.out`);
      const first = [
        ...(hasOption(/^--?json$/) ? [] : ['-json']),
        ...(coverage && !hasOption(/^--?coverprofile/) ? [`-coverprofile=${profile}`] : []),
        ...(coverage && !hasOption(/^--?coverpkg/) ? ['-coverpkg=./...'] : []),
      ];
      return [call, { first }] as const;
    });
    return { script: withCallsChanged(script, new Map(changes)), env };
  },

  async read(place, output) {
    const reading = parseGoEvents(output.stdout, output.stderr);
    if (reading === null) return null;
    const modulePath = await modulePathOf(place.worktree);
    const findTest = createFindGoTest(place.worktree);
    const folderOf = (name: string): string | null => {
      const folder =
        name === modulePath ? '.' : name.startsWith(`${modulePath}/`) ? name.slice(modulePath.length + 1) : '';
      return folder !== '' && existsSync(join(place.worktree, folder)) ? folder : null;
    };
    const profiles = await textsIn(place.folder, /^profile-.*\.out$/);
    return {
      cases: reading.cases.map((found) => {
        const folder = folderOf(found.package);
        const parts = found.test.split('/');
        const file = folder === null ? null : findTest(folder, parts[0] ?? '');
        const name = [...(file === null ? [found.package] : []), ...parts].join(' > ');
        return { file, name, outcome: found.outcome, message: found.message };
      }),
      loadFailures: reading.failures.map((failure) => ({
        file: folderOf(failure.package),
        message: loadMessage(failure.message),
      })),
      coverage: profiles.length === 0 ? null : parseGoProfile(profiles.join('\n'), modulePath),
    };
  },

  line(line) {
    const event = goEvent(line);
    if (event === null) return line;
    return event.Output === undefined ? null : event.Output.replace(/\n$/, '');
  },
};

async function modulePathOf(worktree: string): Promise<string> {
  const text = await readFile(join(worktree, 'go.mod'), 'utf8').catch(() => '');
  return /^module\s+"?([^\s"]+)/m.exec(text)?.[1] ?? '';
}
