import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import { labelOf } from '../core/paths.ts';
import { type Level, type Line, linesOf } from './item-lines.ts';
import { paint, paintLabel, printable, type Terminal } from './terminal.ts';

const RANK: Record<Level, number> = { quiet: 0, live: 1, normal: 2, verbose: 3 };

/** In front of every line: whose it is. */
function prefixOf(terminal: Terminal, event: AgentosEvent): string {
  if (!('item' in event)) return paint(terminal, 'dim', '[COORDINATOR]');
  const label = labelOf(event.workflow, parseItemId(event.item));
  return paintLabel(terminal, label, `[${label}]`);
}

/** Events as lines for people: prefix, one space, the line. */
export function consoleSubscriber(terminal: Terminal, level: Level): Subscriber {
  return (event) => {
    for (const line of linesOf(event)) {
      if (RANK[line.from] > RANK[level]) continue;
      for (const text of line.text.split('\n')) {
        terminal.line(`${prefixOf(terminal, event)} ${styled(terminal, line, printable(text))}`);
      }
    }
  };
}

function styled(terminal: Terminal, { style }: Line, text: string): string {
  switch (style) {
    case 'plain':
      return text;
    case 'dim':
      return paint(terminal, 'dim', text);
    case 'good':
      return paint(terminal, 'green', text);
    case 'warn':
      return paint(terminal, 'yellow', text);
    case 'bad':
      return paint(terminal, 'red', text);
  }
}
