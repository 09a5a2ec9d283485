/** The action of a command: its code is loaded when it runs, and its number is the exit code. */
export function runs<Words extends unknown[]>(
  load: () => Promise<(...words: Words) => Promise<number>>,
): (...words: Words) => Promise<void> {
  return async (...words) => {
    process.exitCode = await (await load())(...words);
  };
}
