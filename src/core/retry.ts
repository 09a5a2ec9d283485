import type { Problem } from './errors.ts';
import type { PipelineName } from './paths.ts';

export interface Failure {
  id: string;
  /** null: it failed without an error of its own. */
  problem: Problem | null;
}

export interface RunFacts {
  workflow: PipelineName;
  /** What the command has to say again to mean the same. */
  flags: readonly string[];
  /** Who played each role. */
  models: Readonly<Record<string, string>>;
  /** Whether any item succeeded: then the models are known to their vendors. */
  anySucceeded: boolean;
}

/** What a person has to do before a retry, and the flags that the next command needs for it. */
export interface Change {
  what: string;
  flags: string[];
}

interface Retry {
  /** The line to copy; null: nothing failed, or the same command would fail the same way. */
  command: string | null;
  /** Where every failure asks for one. */
  changeFirst: Change | null;
}

export function retryOf(failures: readonly Failure[], run: RunFacts): Retry {
  if (failures.length === 0) return { command: null, changeFirst: null };
  const changes = failures.map(({ id, problem }) => problem && changeFor(problem, id, run));
  if (changes.every((change) => change !== null)) return { command: null, changeFirst: joined(changes) };
  const ids = failures.map(({ id }) => id);
  return { command: ['agentos', run.workflow, '--ids', ...ids, ...run.flags].join(' '), changeFirst: null };
}

function joined(changes: readonly Change[]): Change {
  return {
    what: [...new Set(changes.map(({ what }) => what))].join(', '),
    flags: [...new Set(changes.map(({ flags }) => flags.join(' ')))].filter((flags) => flags !== ''),
  };
}

/** What has to change before the same command can do better; null: it may do better as it is. */
function changeFor(problem: Problem, id: string, { models, anySucceeded }: RunFacts): Change | null {
  const change = (what: string, ...flags: string[]): Change => ({ what, flags });
  switch (problem.code) {
    case 'provider-refused-request': {
      if (anySucceeded) return null;
      const played = Object.entries(models).filter(([, spec]) => spec.startsWith(`${problem.provider}:`));
      const specs = [...new Set(played.map(([, spec]) => spec))];
      const which = specs.length === 0 ? 'another model' : `another model than ${specs.join(' and ')}`;
      return change(`choose ${which}`, ...played.map(([role]) => `--${role} <model>`));
    }
    case 'provider-rejected-key':
      return change(`set a key that ${problem.provider} accepts`);
    case 'key-missing':
      return change(`set ${problem.variables.join(' or ') || `a key for ${problem.provider}`}`);
    case 'over-budget':
      // A new run has its whole budget again; what an item has spent counts from its first run on.
      if (problem.scope === 'item') return change('allow more than it has spent', '--max-cost-per-item <usd>');
      return problem.spentUsd > 0 ? null : change('allow more than one call can cost', '--max-cost <usd>');
    case 'lld-missing':
    case 'lld-not-approved':
    case 'lld-outdated':
      return change(`have its LLD reviewed (agentos lld ${id})`);
    case 'tests-undetected':
      return change('name the test command in agentos.yaml (tests.command)');
    case 'agent-missing':
      return change(`install ${problem.program} (${problem.install})`);
    case 'git-identity-missing':
      return change('set git config user.name and user.email');
    case 'offline-no-code':
      return change('choose who writes the code', '--implementer <model>');
    default:
      return null;
  }
}
