#include "offline/experiment/json_file.hpp"

#include <rapidjson/encodedstream.h>
#include <rapidjson/memorystream.h>

namespace refrain::experiment {

rapidjson::Document parse_json_object(const InputFile& file, std::uint64_t largest, const char* what) {
  if (file.size() == 0) file.fail(0, "the file is empty");
  if (file.size() > largest) file.fail(0, std::string("too large for a ") + what);
  const auto bytes = file.read(0, file.size(), what);
  // Iterative: a file of nested brackets must not use up the stack.
  constexpr unsigned how = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> characters(text);
  rapidjson::Document json;
  json.ParseStream<how>(characters);
  if (json.HasParseError()) file.fail(json.GetErrorOffset(), "not JSON");
  if (characters.Tell() < bytes.size()) file.fail(characters.Tell(), "not JSON");  // RapidJSON ends at a null character
  if (!json.IsObject()) file.fail(0, "not a JSON object");
  return json;
}

void refuse_member(const InputFile& file, const char* name) {
  file.fail(0, std::string("member '") + name + "' is not what it should be");
}

}  // namespace refrain::experiment
