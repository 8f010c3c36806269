// One word that may come next on a command line.

/**
 * What may follow: `at` is empty, a group or a command. `takesValue`: the next word is the flag's own, or what follows
 * its "="; one of the options, or as a list several of them with commas between.
 */
export type Offer = {
  at: string;
  word: string;
  meaning: string;
  takesValue?: boolean;
  options?: readonly string[] | undefined;
  isList?: boolean | undefined;
};
