import { useEffect, useRef } from 'preact/hooks';
import { Loaded } from './bits.tsx';
import { List } from './list.tsx';
import { resource } from './store.ts';

/** What an agent said, read, wrote and ran, line by line. */
export function Transcript({ path, onClose }: { path: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const lines = resource<'transcript'>(path).value;
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="transcript" aria-label="What the agent did" onClose={onClose}>
      <form method="dialog">
        <h2>What the agent did</h2>
        <button type="submit" class="button small">
          Close
        </button>
      </form>
      <Loaded of={lines}>
        {(all) => (
          <List
            class="log"
            role="log"
            label="Transcript"
            count={all.length}
            rowHeight={18}
            keyOf={(index) => index}
            row={(index) => <code>{all[index]}</code>}
          />
        )}
      </Loaded>
    </dialog>
  );
}
