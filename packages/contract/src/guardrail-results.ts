/** The outcome for the texts of one kind. */
export const guardrailOutcomes = ['passed', 'flagged', 'masked', 'substituted', 'blocked', 'error'] as const;
export type GuardrailOutcome = (typeof guardrailOutcomes)[number];
