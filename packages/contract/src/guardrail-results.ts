/** The texts of a run that guardrails check, by who wrote them. */
export const guardedTexts = ['system', 'user', 'tool_result', 'answer', 'tool_call'] as const;
export type GuardedText = (typeof guardedTexts)[number];

/** The outcome for the texts of one kind. */
export const guardrailOutcomes = ['passed', 'flagged', 'masked', 'substituted', 'blocked', 'error'] as const;
export type GuardrailOutcome = (typeof guardrailOutcomes)[number];
