import { useEffect, useState } from 'preact/hooks';
import { List } from './list.tsx';
import { follow } from './store.ts';

const MOST_LINES = 20_000;

/** The end of a log, and each line that is added; null: there is no log to follow. */
export function useLog(which: string | null): readonly string[] {
  const [lines, setLines] = useState<readonly string[]>([]);
  useEffect(() => {
    setLines([]);
    if (which === null) return follow({});
    const onLines = (more: string[]): void => setLines((before) => [...before, ...more].slice(-MOST_LINES));
    return follow({ log: { which, onLines } });
  }, [which]);
  return lines;
}

/** `2026-11-03T14:32:05.123Z the line`: the date is the same all day. */
function split(line: string): [time: string, text: string] {
  const [, time, text] = /^\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\.\d+Z (.*)$/s.exec(line) ?? [];
  return time === undefined ? ['', line] : [time, text ?? ''];
}

export function LogView({ lines, isLive }: { lines: readonly string[]; isLive: boolean }) {
  return (
    <section class="card log-card" aria-label="Log">
      <header>
        <h2>Log</h2>
        <span class="muted">{isLive ? 'follows as it is written' : 'of its last run'}</span>
      </header>
      {lines.length === 0 ? (
        <p class="muted">Nothing yet.</p>
      ) : (
        <List
          class="log"
          role="log"
          label="Log lines"
          count={lines.length}
          rowHeight={18}
          sticksToEnd
          keyOf={(index) => index}
          row={(index) => {
            const [time, text] = split(lines[index] ?? '');
            return (
              <code>
                <time>{time}</time>
                {text}
              </code>
            );
          }}
        />
      )}
    </section>
  );
}
