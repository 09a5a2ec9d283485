/** More workers than this starve each other, whatever the flag says. */
export const MAX_PARALLEL = 10;
