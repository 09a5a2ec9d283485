import { type ComponentChildren, Fragment, h } from 'preact';
import type { LedgerEntry } from '../../core/events.ts';
import type { GateEvidence } from '../../core/gate.ts';
import type { Block, DiffFile, DiffHunk, DiffRow, DiffText, MarkdownNode } from '../api.ts';
import { Loaded, Mark, Table, Words } from './bits.tsx';
import { count } from './format.ts';
import { resource } from './store.ts';

/** The evidence of a chapter: each kind of block in its form. */
export function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, index) => (
        <One key={index} block={block} />
      ))}
    </>
  );
}

function One({ block }: { block: Block }) {
  switch (block.type) {
    case 'markdown':
      return <Document tree={block.tree} />;
    case 'diff':
      return <Diff title={block.title} files={block.files} />;
    case 'ledger':
      return <Ledger findings={block.findings} />;
    case 'gate':
      return <Gate gate={block.gate} />;
    case 'context':
      return <Context path={block.path} />;
    case 'points':
      return (
        <div class="points">
          <p class="block-title">{block.title}</p>
          <Points of={block.points} />
        </div>
      );
  }
}

function Points({ of, is = '' }: { of: readonly string[]; is?: string }) {
  return (
    <ul class={is}>
      {of.map((point) => (
        <li key={point}>{point}</li>
      ))}
    </ul>
  );
}

/** Every finding, with its state in each round. */
function Ledger({ findings }: { findings: readonly LedgerEntry[] }) {
  const rounds = Math.max(1, ...findings.map(({ updatedInRound }) => updatedInRound));
  const columns = Array.from({ length: rounds }, (_, index) => index + 1);
  const tones = { open: 'wait', disputed: 'quota', fixed: 'good', withdrawn: 'plain' };
  const mark = ({ raisedInRound, updatedInRound, state }: LedgerEntry, round: number): string => {
    if (round === raisedInRound && round !== updatedInRound) return 'raised';
    if (round === updatedInRound) return round === raisedInRound && state === 'open' ? 'raised' : state;
    return round > raisedInRound && round < updatedInRound ? 'open' : '';
  };
  return (
    <Table
      is="ledger"
      label="Findings"
      heads={['Id', 'Tier', 'Finding', ...columns.map((round) => `Round ${round}`), 'Now']}
    >
      {findings.map((finding) => (
        <tr key={finding.id}>
          <td>{finding.id}</td>
          <td>{finding.tier}</td>
          <td class="wide">
            {finding.area !== '' && <b>{finding.area}: </b>}
            <Words text={finding.text} />
            {finding.reason !== '' && <span class="muted"> ({finding.reason})</span>}
          </td>
          {columns.map((round) => (
            <td key={round}>{mark(finding, round)}</td>
          ))}
          <td>
            <Mark tone={tones[finding.state]}>{finding.state}</Mark>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Gate({ gate }: { gate: GateEvidence }) {
  const { passed, skipped, command, summary, counts, hash, details, problems } = gate;
  const tone = skipped !== null ? 'plain' : passed ? 'good' : 'bad';
  const word = skipped !== null ? `not checked: ${skipped}` : passed ? summary || 'holds' : 'does not hold';
  return (
    <div class="gate">
      <p>
        <Mark tone={tone}>
          <b>{gate.gate}</b>
        </Mark>
        {word}
        {counts !== null && (
          <span class="muted">
            {counts.passed} passed, {counts.failed} failed
            {counts.notLoaded > 0 && `, ${counts.notLoaded} could not load`}
          </span>
        )}
      </p>
      {problems.length > 0 && <Points of={problems} is="tone-bad" />}
      {(details.length > 0 || command !== null || hash !== null) && (
        <details>
          <summary>Evidence</summary>
          {command !== null && (
            <p>
              Command: <code>{command}</code>
            </p>
          )}
          {hash !== null && (
            <p>
              sha256: <code>{hash}</code>
            </p>
          )}
          <Points of={details} />
        </details>
      )}
    </div>
  );
}

function Context({ path }: { path: string }) {
  const shown = resource<'context'>(path).value;
  return (
    <Loaded of={shown}>
      {({ base, tokens, budgetTokens, files, leftOut }) => (
        <>
          <p class="muted">
            {count(tokens)} of {count(budgetTokens)} tokens, chosen again now at commit {base.slice(0, 12)};{' '}
            {count(leftOut)} files left out.
          </p>
          <Table label="Files that were shown" heads={['File', 'Part', 'Why', 'Tokens']} rightFrom={3}>
            {files.map((file) => (
              <tr key={file.path}>
                <td>
                  <code>{file.path}</code>
                </td>
                <td>
                  {file.part} <span class="muted">{file.part === 'excerpt' ? file.lines : ''}</span>
                </td>
                <td>{file.why}</td>
                <td class="right">{count(file.tokens)}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </Loaded>
  );
}

/** A document that the server has parsed. Only its known nodes become elements. */
function Document({ tree }: { tree: readonly MarkdownNode[] }) {
  return <div class="prose">{tree.map(element)}</div>;
}

function element(node: MarkdownNode, index: number): ComponentChildren {
  if (typeof node === 'string') return node;
  switch (node[0]) {
    case 'p':
    case 'em':
    case 'strong':
    case 'del':
    case 'ul':
    case 'ol':
    case 'li':
      return h(node[0], { key: index }, inside(node));
    case 'quote':
      return <blockquote key={index}>{inside(node)}</blockquote>;
    case 'task':
      return (
        <li key={index} class={node[1] ? 'task done' : 'task'}>
          <span class="visually-hidden">{node[1] ? 'done: ' : 'open: '}</span>
          {inside(node, 2)}
        </li>
      );
    case 'h':
      // Below the heading of the page and of its part.
      return h(`h${Math.min(5, Math.max(3, node[1] + 2))}`, { key: index }, inside(node, 2));
    case 'table':
      return tableOf(node, index);
    case 'row':
    case 'cell':
      return <Fragment key={index}>{inside(node)}</Fragment>;
    case 'a':
      return (
        <a key={index} href={node[1]} target="_blank" rel="noopener noreferrer">
          {inside(node, 2)}
        </a>
      );
    case 'code':
      return <code key={index}>{node[1]}</code>;
    case 'pre':
      return <Source key={index} language={node[1]} text={node[2]} />;
    case 'br':
      return <br key={index} />;
    case 'hr':
      return <hr key={index} />;
    default:
      return null;
  }
}

type Parent = Exclude<MarkdownNode, string>;

function inside(node: Parent, from = 1): ComponentChildren[] {
  return (node.slice(from) as MarkdownNode[]).map(element);
}

function tableOf(node: Parent, index: number): ComponentChildren {
  const [head, ...rows] = node.slice(1) as Parent[];
  const cells = (row: Parent | undefined): Parent[] => (row?.slice(1) ?? []) as Parent[];
  return (
    <Table key={index} label="Table" heads={cells(head).map((cell) => inside(cell))}>
      {rows.map((row, line) => (
        <tr key={line}>
          {cells(row).map((cell, at) => (
            <td key={at}>{inside(cell)}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

function Source({ language, text }: { language: string; text: string }) {
  const name = language === 'mermaid' ? 'Mermaid diagram, as source' : language;
  return (
    <figure class="source">
      {name !== '' && <figcaption>{name}</figcaption>}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}

/** Files that changed, each folded to its name; a single one is open. */
function Diff({ files, title }: { files: readonly DiffFile[]; title: string }) {
  return (
    <div class="diff">
      {title !== '' && <p class="block-title">{title}</p>}
      {files.map((file) => (
        <details key={file.path} open={files.length === 1}>
          <summary>
            <code>{file.path}</code>
            {file.change !== 'changed' && <span class="tag">{file.change}</span>}
            <span class="added">+{count(file.added)}</span>
            <span class="removed">−{count(file.removed)}</span>
          </summary>
          <div class="diff-room" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
            <table class={file.change === 'added' || file.change === 'deleted' ? 'one-side' : ''}>
              <colgroup>
                <col class="number" />
                <col />
                <col class="number" />
                <col />
              </colgroup>
              <tbody>{file.hunks.map(hunk)}</tbody>
            </table>
            {file.hunks.length === 0 && (
              <p class="muted">Nothing to show: it is no text, or only its name or mode changed.</p>
            )}
            {file.isCut && <p class="muted">There is more than is shown here.</p>}
          </div>
        </details>
      ))}
    </div>
  );
}

function hunk({ oldStart, newStart, rows }: DiffHunk, index: number): ComponentChildren {
  return (
    <Fragment key={index}>
      <tr class="hunk">
        <td colSpan={4}>
          lines {oldStart} → {newStart}
        </td>
      </tr>
      {rows.map(line)}
    </Fragment>
  );
}

function line([oldLine, before, newLine, after]: DiffRow, index: number): ComponentChildren {
  const isSame = typeof before === 'string' && typeof after === 'string';
  return (
    <tr key={index} class={isSame ? 'same' : 'other'}>
      <td class={before === null ? 'number none' : 'number'}>{oldLine}</td>
      <td class={before === null ? 'none' : isSame ? '' : 'old'}>{before !== null && pieces(before)}</td>
      <td class={after === null ? 'number none' : 'number'}>{newLine}</td>
      <td class={after === null ? 'none' : isSame ? '' : 'new'}>{after !== null && pieces(after)}</td>
    </tr>
  );
}

function pieces(text: DiffText): ComponentChildren {
  if (typeof text === 'string') return text;
  return text.map((piece, at) => (at % 2 === 0 ? piece : <mark key={at}>{piece}</mark>));
}
