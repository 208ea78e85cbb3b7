// The tracer provider, and the AI SDK with one of its three tracers: "built-in" (SDK 6), "legacy" and "otel" (SDK 7).
import { SpanKind, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "ferry-answers", "service.version": "1.4.0" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: process.env.TRACES_ENDPOINT }))],
});
provider.register();

const SERVER = { kind: SpanKind.SERVER, attributes: { "http.request.method": "POST", "url.path": "/ask" } };

export const finish = () => provider.shutdown();

// Run work under a span of the application, as an HTTP instrumentation opens one.
export const under = (name, work) =>
  trace.getTracer("ferry.http").startActiveSpan(name, SERVER, async (span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });

export async function load(tracer) {
  const old = tracer === "built-in";
  const ai = await import(old ? "ai-6" : "ai");
  const { createOpenAICompatible } = await import(old ? "openai-compatible-6" : "@ai-sdk/openai-compatible");
  const { createCohere } = await import(old ? "cohere-6" : "@ai-sdk/cohere");
  if (!old) {
    const more = process.env.SUPPLEMENTAL !== "off";
    const { LegacyOpenTelemetry, OpenTelemetry } = await import("@ai-sdk/otel");
    ai.registerTelemetry(
      tracer === "legacy" ? new LegacyOpenTelemetry() : new OpenTelemetry({ embedding: more, reranking: more, runtimeContext: true }),
    );
  }
  const baseURL = process.env.OPENAI_BASE_URL;
  const models = createOpenAICompatible({ name: "stub", baseURL, apiKey: "stub", includeUsage: true });
  const who = { sessionId: "chat-1", userId: "user-7" };
  // What every call gets: how much is recorded, and whose conversation it is.
  const settings = (functionId, content = true) => {
    const wanted = { isEnabled: true, functionId, recordInputs: content, recordOutputs: content };
    return old
      ? { experimental_telemetry: { ...wanted, metadata: who } }
      : {
          telemetry: { ...wanted, includeRuntimeContext: { sessionId: true, userId: true } },
          runtimeContext: who,
        };
  };
  return {
    ai,
    settings,
    chat: models.chatModel("stub-chat-1"),
    embedder: (models.embeddingModel ?? models.textEmbeddingModel)("stub-embed-1"),
    reranker: createCohere({ baseURL, apiKey: "stub" }).reranking("stub-rerank-1"),
  };
}
