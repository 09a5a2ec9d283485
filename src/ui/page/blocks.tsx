import type { LedgerEntry } from '../../core/events.ts';
import type { GateEvidence } from '../../core/gate.ts';
import type { Block } from '../api.ts';
import { Loaded, Words } from './bits.tsx';
import { Diff, Document } from './document.tsx';
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
          <ul>
            {block.points.map((point) => (
              <li key={point}>{point}</li>
            ))}
          </ul>
        </div>
      );
    case 'text':
      return (
        <div class="points">
          <p class="block-title">{block.title}</p>
          <pre tabIndex={0}>{block.text}</pre>
        </div>
      );
    default:
      return null;
  }
}

/** Every finding with a mark in each round in which something became of it. */
function Ledger({ findings }: { findings: readonly LedgerEntry[] }) {
  const rounds = Math.max(1, ...findings.map(({ updatedInRound }) => updatedInRound));
  const columns = Array.from({ length: rounds }, (_, index) => index + 1);
  const tones = { open: 'tone-wait', disputed: 'tone-quota', fixed: 'tone-good', withdrawn: 'tone-plain' };
  const mark = ({ raisedInRound, updatedInRound, state }: LedgerEntry, round: number): string => {
    if (round === raisedInRound && round !== updatedInRound) return 'raised';
    if (round === updatedInRound) return round === raisedInRound && state === 'open' ? 'raised' : state;
    return round > raisedInRound && round < updatedInRound ? 'open' : '';
  };
  return (
    <div class="table-room" tabIndex={0} role="region" aria-label="Findings">
      <table class="ledger">
        <thead>
          <tr>
            <th scope="col">Id</th>
            <th scope="col">Tier</th>
            <th scope="col">Finding</th>
            {columns.map((round) => (
              <th key={round} scope="col">
                Round {round}
              </th>
            ))}
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
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
                <span class={`status ${tones[finding.state]}`}>
                  <i class="dot" aria-hidden="true" />
                  {finding.state}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Gate({ gate }: { gate: GateEvidence }) {
  const { passed, skipped, command, summary, counts, hash, details, problems } = gate;
  const tone = skipped !== null ? 'plain' : passed ? 'good' : 'bad';
  const word = skipped !== null ? `not checked: ${skipped}` : passed ? summary || 'holds' : 'does not hold';
  return (
    <div class="gate">
      <p>
        <span class={`status tone-${tone}`}>
          <i class="dot" aria-hidden="true" />
          <b>{gate.gate}</b>
        </span>
        {word}
        {counts !== null && (
          <span class="muted">
            {counts.passed} passed, {counts.failed} failed
            {counts.notLoaded > 0 && `, ${counts.notLoaded} could not load`}
          </span>
        )}
      </p>
      {problems.length > 0 && (
        <ul class="tone-bad">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
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
          <ul>
            {details.map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
          </ul>
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
          <div class="table-room" tabIndex={0} role="region" aria-label="Files that were shown">
            <table>
              <thead>
                <tr>
                  <th scope="col">File</th>
                  <th scope="col">Part</th>
                  <th scope="col">Why</th>
                  <th scope="col" class="right">
                    Tokens
                  </th>
                </tr>
              </thead>
              <tbody>
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
              </tbody>
            </table>
          </div>
        </>
      )}
    </Loaded>
  );
}
