import { contentStage, type ContentDependencies } from './content-stage.ts';
import { guardrailStage, type GuardrailDependencies } from './guardrail-stage.ts';
import { memoryStage, type MemoryDependencies } from './memory-stage.ts';
import { reasoningStage, type ReasoningDependencies } from './reasoning-stage.ts';
import { signatureStage, type SignatureDependencies } from './signature-stage.ts';
import { storedResponseStage, type StoredResponseDependencies } from './stored-response-stage.ts';
import { toolStage, type ToolDependencies } from './tool-stage.ts';
import type { TurnStage } from './turn-stage.ts';

export interface StageDependencies
  extends
    GuardrailDependencies,
    MemoryDependencies,
    ToolDependencies,
    SignatureDependencies,
    ReasoningDependencies,
    StoredResponseDependencies,
    ContentDependencies {}

/** The stages of every turn, in the order in which they are called. */
export function turnStages(dependencies: StageDependencies): readonly TurnStage[] {
  return [
    guardrailStage(dependencies),
    memoryStage(dependencies),
    toolStage(dependencies),
    signatureStage(dependencies),
    reasoningStage(dependencies),
    storedResponseStage(dependencies),
    contentStage(dependencies),
  ];
}
