import { useEffect, useState } from 'preact/hooks';
import { Card, Dialog, Loaded } from './bits.tsx';
import { Lines } from './list.tsx';
import { follow, resource } from './store.ts';

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

export function LogView({ lines, isLive }: { lines: readonly string[]; isLive: boolean }) {
  const aside = <span class="muted">{isLive ? 'follows as it is written' : 'of its last run'}</span>;
  return (
    <Card is="log-card" title="Log" aside={aside}>
      {lines.length === 0 ? <p class="muted">Nothing yet.</p> : <Lines lines={lines} label="Log lines" sticksToEnd />}
    </Card>
  );
}

/** What an agent said, read, wrote and ran, line by line. */
export function Transcript({ path, onClose }: { path: string; onClose: () => void }) {
  return (
    <Dialog is="transcript" label="What the agent did" onClose={onClose}>
      <form method="dialog">
        <h2>What the agent did</h2>
        <button type="submit" class="button small">
          Close
        </button>
      </form>
      <Loaded of={resource<'transcript'>(path).value}>{(all) => <Lines lines={all} label="Transcript" />}</Loaded>
    </Dialog>
  );
}
