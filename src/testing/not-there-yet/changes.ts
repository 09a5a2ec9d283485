/** What an LLD does to the files, as paths relative to the worktree. */
export interface Changes {
  added: readonly string[];
  modified: readonly string[];
}
