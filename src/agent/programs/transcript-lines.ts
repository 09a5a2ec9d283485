import { type Fields, listOf, parseJson, textOf } from '../../core/json.ts';
import { reasonIn } from '../../core/reason.ts';
import { type AgentAction, type AgentVerdict, type EventReader, eventReader, stringIn, toolCalled } from './agent.ts';
import { AGENTS } from './agents.ts';

const MOST_LINES = 40;
const MAX_LINE_CHARS = 400;

/** Lines of what an agent does; text that comes in pieces is collected until its line is complete. */
export function createActionLines(
  linesOfAction: (action: AgentAction) => string[],
): (actions: readonly AgentAction[]) => string[] {
  let unfinished = '';
  const upTo = (end: number): string[] => {
    const lines = linesOf(unfinished.slice(0, end));
    unfinished = unfinished.slice(end);
    return lines;
  };
  return (actions) =>
    actions.flatMap((action) => {
      if (action.type !== 'piece') return [...upTo(unfinished.length), ...linesOfAction(action)];
      unfinished += action.text;
      return upTo(unfinished.lastIndexOf('\n') + 1);
    });
}

/** For the log of an item: text, tool calls and failures. */
export function logLinesOf(action: AgentAction): string[] {
  switch (action.type) {
    case 'text':
    case 'piece':
      return linesOf(action.text);
    case 'tool':
      return [toolLine(action.name, action.input)];
    case 'result': {
      const { text, failed, exitCode } = action;
      if (!failed) return [];
      const [code, why] = exitCode === undefined ? ['', text] : [` (${exitCode})`, reasonIn(text)];
      return [shortLine(`failed${code}${why === '' ? '' : `: ${why}`}`)];
    }
    case 'fault':
      return [shortLine(action.text || 'a fault')];
  }
}

/** For the transcript: text, `>` tool calls, `<` their results. */
function transcriptLinesOf(action: AgentAction): string[] {
  switch (action.type) {
    case 'tool': {
      const written = WRITTEN.flatMap((field) => block('|', stringIn(action.input[field])));
      return [`> ${toolLine(action.name, action.input)}`, ...written];
    }
    case 'result':
      return block(action.failed ? '< !' : '<', action.text);
    case 'fault':
      return [`! ${shortLine(action.text)}`];
    default:
      return logLinesOf(action);
  }
}

/** Arguments with text, shown below the line of the tool call. */
const WRITTEN = ['content', 'old_string', 'new_string', 'search', 'replace'];

function block(mark: string, text: string): string[] {
  const lines = linesOf(text);
  const more = lines.length > MOST_LINES ? [`… ${lines.length - MOST_LINES} more lines`] : [];
  return [...lines.slice(0, MOST_LINES), ...more].map((line) => `  ${mark} ${line}`);
}

/** A transcript for people. Its first event names the agent. */
export function transcriptLines(events: readonly Fields[]): string[] {
  const show = createActionLines(transcriptLinesOf);
  let reader: EventReader = builtIn;
  let verdict: AgentVerdict = null;
  const lines = events.flatMap((event) => {
    const own = (line: string): string[] => [...show([END]), line];
    switch (event['type']) {
      case 'agentos-start':
        reader = readerOf(stringIn(event['agent']));
        return own(`== ${stringIn(event['step'])} by ${stringIn(event['agent'])}, ${stringIn(event['at'])}`);
      case 'agentos-line':
        return show([{ type: 'text', text: stringIn(event['text']) }]);
      case 'agentos-end': {
        const { exitCode, signal } = event;
        return own(`== ended with ${typeof exitCode === 'number' ? `exit code ${exitCode}` : stringIn(signal)}`);
      }
      default: {
        const shown = show(reader.read(event));
        const isNews = reader.verdict !== verdict;
        verdict = reader.verdict;
        return isNews && verdict?.is === 'failed' ? [...shown, ...show([{ type: 'fault', text: verdict.why }])] : shown;
      }
    }
  });
  return [...lines, ...show([END])];
}

/** Ends a text that came in pieces. */
const END: AgentAction = { type: 'text', text: '' };

function readerOf(spec: string): EventReader {
  const name = spec.replace(/:.*$/s, '');
  return (
    Object.values(AGENTS)
      .find((agent) => agent.name === name)
      ?.createReader() ?? builtIn
  );
}

const builtIn = eventReader((event) => {
  const { text, calls, ok } = event;
  if (event['type'] === 'agentos-result') return [{ type: 'result', text: stringIn(text), failed: ok !== true }];
  if (event['type'] !== 'agentos-answer') return [];
  const called = listOf(calls).map(({ name, input }) => toolCalled(name, parseJson(stringIn(input))));
  return [{ type: 'text', text: stringIn(text) }, ...called];
});

/** The lines of a text that are not blank, shortened. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => shortened(line.trimEnd()));
}

/** The arguments of a tool that tell a person the most, in order of preference. */
const TELLING =
  'file_path filePath path absolute_path notebook_path command cmd pattern query url description prompt'.split(' ');

/** `Write src/a.ts`, `Bash npm test`. */
function toolLine(name: string, input: Fields): string {
  return shortLine(`${name} ${TELLING.map((field) => textOf(input[field])).find(Boolean) ?? ''}`);
}

function shortLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim());
}

function shortened(line: string): string {
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line;
}
