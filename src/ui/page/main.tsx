import { render } from 'preact';
import './base.css';
import './controls.css';
import './layout.css';
import './parts.css';
import './document.css';
import './inbox.css';
import './run.css';
import './item.css';
import './board.css';
import './money.css';
import { Empty } from './bits.tsx';
import { Board } from './board.tsx';
import { DecideDialog } from './decide.tsx';
import { Inbox } from './inbox.tsx';
import { Item } from './item.tsx';
import { Money } from './money.tsx';
import { link, route } from './navigation.ts';
import { Run } from './run.tsx';
import { Shell } from './shell.tsx';
import { StartDialog } from './start.tsx';
import { loadOverview, signIn } from './store.ts';

function Page() {
  switch (route.value.page) {
    case 'inbox':
      return <Inbox />;
    case 'run':
      return <Run />;
    case 'item':
      return <Item />;
    case 'board':
      return <Board />;
    case 'money':
      return <Money />;
    default:
      return (
        <Empty title="There is no such page.">
          <p>
            <a href={link('inbox')}>To the inbox</a>
          </p>
        </Empty>
      );
  }
}

function App() {
  return (
    <>
      <Shell>
        <Page />
      </Shell>
      <DecideDialog />
      <StartDialog />
    </>
  );
}

await signIn();
await loadOverview().catch(() => undefined);
const root = document.getElementById('app');
if (root !== null) {
  root.textContent = '';
  render(<App />, root);
}
