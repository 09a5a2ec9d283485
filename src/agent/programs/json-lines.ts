import { type Fields, fieldsOf } from '../../models/json-fields.ts';

/** An event holds at most a file or the output of a command; what is longer is not worth the memory. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024;

export interface JsonLines {
  push(line: string): void;
  end(): void;
}

/**
 * Lines that are JSON objects go one way, all others the other. Long lines arrive in pieces, so what begins like an object
 * but is not complete is held until its rest comes, or until a whole object shows that there is no rest.
 */
export function createJsonLines(onEvent: (event: Fields) => void, onText: (line: string) => void): JsonLines {
  let held: string[] = [];
  let chars = 0;
  const release = (): void => {
    if (chars <= MAX_EVENT_CHARS) for (const piece of held) onText(piece);
    held = [];
    chars = 0;
  };
  const hold = (piece: string): void => {
    chars += piece.length;
    if (chars <= MAX_EVENT_CHARS) held.push(piece);
  };
  return {
    push(line) {
      const whole = line.startsWith('{') ? parseObject(line) : null;
      if (whole !== null) {
        release();
        return onEvent(whole);
      }
      if (held.length === 0 && !line.startsWith('{')) return onText(line);
      hold(line);
      const joined = held.length > 1 && endsObject(line) ? parseObject(held.join('')) : null;
      if (joined === null) return;
      held = [];
      chars = 0;
      onEvent(joined);
    },
    end: release,
  };
}

/** Looking at the end is cheap; parsing every beginning of a long line is not. */
function endsObject(text: string): boolean {
  return text.trimEnd().endsWith('}');
}

function parseObject(text: string): Fields | null {
  if (!endsObject(text)) return null;
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
}
