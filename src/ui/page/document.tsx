import { type ComponentChildren, Fragment } from 'preact';
import type { DiffFile, DiffHunk, DiffRow, DiffText, MarkdownNode } from '../api.ts';
import { count } from './format.ts';

/** A document that the engine has parsed. Its nodes become elements here, one by one, and nothing else does. */
export function Document({ tree }: { tree: readonly MarkdownNode[] }) {
  return <div class="prose">{tree.map(element)}</div>;
}

function element(node: MarkdownNode, index: number): ComponentChildren {
  if (typeof node === 'string') return node;
  switch (node[0]) {
    case 'p':
      return <p key={index}>{inside(node)}</p>;
    case 'em':
      return <em key={index}>{inside(node)}</em>;
    case 'strong':
      return <strong key={index}>{inside(node)}</strong>;
    case 'del':
      return <del key={index}>{inside(node)}</del>;
    case 'quote':
      return <blockquote key={index}>{inside(node)}</blockquote>;
    case 'ul':
      return <ul key={index}>{inside(node)}</ul>;
    case 'ol':
      return <ol key={index}>{inside(node)}</ol>;
    case 'li':
      return <li key={index}>{inside(node)}</li>;
    case 'task':
      return (
        <li key={index} class={node[1] ? 'task done' : 'task'}>
          <span class="visually-hidden">{node[1] ? 'done: ' : 'open: '}</span>
          {inside(node, 2)}
        </li>
      );
    case 'h':
      return heading(node[1], inside(node, 2), index);
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

/** Below the heading of the page and of its part. */
function heading(level: number, children: ComponentChildren, index: number): ComponentChildren {
  if (level <= 1) return <h3 key={index}>{children}</h3>;
  return level === 2 ? <h4 key={index}>{children}</h4> : <h5 key={index}>{children}</h5>;
}

function tableOf(node: Parent, index: number): ComponentChildren {
  const [head, ...rows] = node.slice(1) as Parent[];
  const cells = (row: Parent | undefined): Parent[] => (row?.slice(1) ?? []) as Parent[];
  return (
    <div key={index} class="table-room" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {cells(head).map((cell, at) => (
              <th key={at} scope="col">
                {inside(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {cells(row).map((cell, at) => (
                <td key={at}>{inside(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
export function Diff({ files, title }: { files: readonly DiffFile[]; title: string }) {
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
