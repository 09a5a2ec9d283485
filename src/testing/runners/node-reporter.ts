/**
 * A reporter for node:test that writes one line of JSON per finished test, between a first and a last line of its own. It
 * runs inside the user's Node, from 20 on.
 * What a file prints to standard error is kept, as it is all that is known of a file that can't be loaded.
 */
export const NODE_REPORTER = `const LIMIT = 20000;

const endOf = ({ exitCode, signal }) => {
  if (signal) return ' (ended by ' + signal + ')';
  return exitCode ? ' (exit code ' + exitCode + ')' : '';
};

export default async function* report(source) {
  const printed = new Map();
  const names = [];
  yield JSON.stringify({ type: 'begin' }) + '\\n';
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      const key = data.entryFile ?? data.file;
      const text = printed.get(key) ?? '';
      if (text.length < LIMIT) printed.set(key, text + data.message);
    }
    if (type === 'test:start') names[data.nesting] = data.name;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    const cause = error?.cause ?? error;
    yield JSON.stringify({
      type: type === 'test:pass' ? 'pass' : 'fail',
      kind: data.details?.type ?? 'test',
      names: [...names.slice(0, data.nesting), data.name],
      file: data.entryFile ?? data.file ?? null,
      excused: data.skip !== undefined || data.todo !== undefined || data.expectFailure !== undefined,
      failure: error?.failureType ?? null,
      message: error === undefined ? null : String(cause?.stack ?? cause?.message ?? cause) + endOf(error),
      printed: printed.get(data.file) ?? printed.get(data.name) ?? '',
    }) + '\\n';
  }
  yield JSON.stringify({ type: 'end' }) + '\\n';
}
`;
