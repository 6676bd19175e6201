"""Google's generateContent: Gemini API and Vertex AI."""
