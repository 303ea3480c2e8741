// The chain of credentials: environment, then the files of the profile; no secret in any message.
#include "storage/object/credentials.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "sluice/error.hpp"
#include "storage/scratch.hpp"

namespace sluice {
namespace {

using storage::object_config;
using storage::ObjectConfig;
using Variables = std::map<std::string, std::string>;

storage::Environment environment(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

ObjectConfig config_of(const Variables& variables) {
  return object_config("s3://b/x", environment(variables));
}

std::string failure_of(const Variables& variables, Code code) {
  try {
    config_of(variables);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

class Credentials : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "credentials") << "[default]\n"
                                              "aws_access_key_id = D\n"
                                              "aws_secret_access_key = default+secret/==\n"
                                              "\n"
                                              "[other]\n"
                                              "aws_access_key_id=O\n"
                                              "aws_secret_access_key=other-secret\n"
                                              "aws_session_token=other-token\n";
    std::ofstream(folder_ / "config") << "[default]\n"
                                         "region = eu-north-1\n"
                                         "[profile other]\n"
                                         "region = ap-east-1\n"
                                         "endpoint_url = https://store.example/\n"
                                         "s3 =\n"
                                         "  addressing_style = virtual\n"
                                         "output = json\n";
    files_ = {{"AWS_SHARED_CREDENTIALS_FILE", folder_ / "credentials"},
              {"AWS_CONFIG_FILE", folder_ / "config"}};
  }
  Variables with(const Variables& more) const {
    Variables all = more;
    all.insert(files_.begin(), files_.end());
    return all;
  }

  storage::Scratch folder_;
  Variables files_;
};

TEST_F(Credentials, TheEnvironmentComesFirst) {
  const ObjectConfig config = config_of(with({{"AWS_ACCESS_KEY_ID", "E"},
                                              {"AWS_SECRET_ACCESS_KEY", "s"},
                                              {"AWS_SESSION_TOKEN", "t"},
                                              {"AWS_REGION", "us-west-2"}}));
  EXPECT_EQ(config.credentials.key, "E");
  EXPECT_EQ(config.credentials.secret, "s");
  EXPECT_EQ(config.credentials.token, "t");
  EXPECT_EQ(config.region, "us-west-2");
}

TEST_F(Credentials, ThenTheDefaultProfile) {
  const ObjectConfig config = config_of(with({}));
  EXPECT_EQ(config.credentials.key, "D");
  EXPECT_EQ(config.credentials.secret, "default+secret/==");
  EXPECT_EQ(config.credentials.token, "");
  EXPECT_EQ(config.region, "eu-north-1");
  EXPECT_EQ(config.endpoint, "");
}

TEST_F(Credentials, AProfileByName) {
  const ObjectConfig config = config_of(with({{"AWS_PROFILE", "other"}}));
  EXPECT_EQ(config.credentials.key, "O");
  EXPECT_EQ(config.credentials.token, "other-token");
  EXPECT_EQ(config.region, "ap-east-1");
  EXPECT_EQ(config.endpoint, "https://store.example");
  EXPECT_EQ(config.addressing, "virtual");
}

TEST_F(Credentials, TheEndpointOfS3ComesBeforeThatOfAll) {
  const ObjectConfig config = config_of(
      with({{"AWS_ENDPOINT_URL", "http://all:1"}, {"AWS_ENDPOINT_URL_S3", "http://s3:2/"}}));
  EXPECT_EQ(config.endpoint, "http://s3:2");
}

/// As AWS's programs: https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
TEST_F(Credentials, TheDefaultProfileByItsLongNameComesBeforeTheShortOne) {
  for (const char* text : {"[profile default]\nregion = ap-east-1\n[default]\nregion = sa-east-1\n",
                           "[default]\nregion = sa-east-1\n[profile  \"default\"] # comment\n"
                           "region = ap-east-1\n"}) {
    std::ofstream(folder_ / "config") << text;
    EXPECT_EQ(config_of(with({})).region, "ap-east-1") << text;
  }
}

TEST_F(Credentials, TheServicesOfAProfile) {
  std::ofstream(folder_ / "config") << "[profile other]\n"
                                       "services = near\n"
                                       "endpoint_url = https://all.example\n"
                                       "[services near]\n"
                                       "s3 =\n"
                                       "  endpoint_url = https://s3.example\n"
                                       "dynamodb =\n"
                                       "  endpoint_url = https://tables.example\n"
                                       "[profile astray]\n"
                                       "services = nowhere\n";
  EXPECT_EQ(config_of(with({{"AWS_PROFILE", "other"}})).endpoint, "https://s3.example");
  EXPECT_EQ(
      config_of(with({{"AWS_PROFILE", "other"}, {"AWS_ENDPOINT_URL", "http://told"}})).endpoint,
      "http://told");
  const std::string text = failure_of(with({{"AWS_PROFILE", "astray"}}), Code::format);
  EXPECT_NE(text.find("[services nowhere]"), std::string::npos) << text;
}

TEST_F(Credentials, WithoutAnySaysWhatToSet) {
  const std::string text = failure_of({{"HOME", "/nonexistent"}}, Code::permission);
  EXPECT_NE(text.find("AWS_ACCESS_KEY_ID"), std::string::npos) << text;
}

TEST_F(Credentials, APublicBucketNeedsNone) {
  EXPECT_TRUE(config_of({{"AWS_NO_SIGN_REQUEST", "YES"}}).credentials.is_anonymous);
  EXPECT_FALSE(config_of(with({{"AWS_NO_SIGN_REQUEST", "YES"}})).credentials.is_anonymous);
}

TEST_F(Credentials, TheNullDeviceIsAnEmptyFile) {
  const Variables null = {{"AWS_CONFIG_FILE", "/dev/null"},
                          {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"},
                          {"AWS_ACCESS_KEY_ID", "E"},
                          {"AWS_SECRET_ACCESS_KEY", "s"}};
  EXPECT_EQ(config_of(null).credentials.key, "E");
  EXPECT_EQ(config_of(null).region, "us-east-1");
  const std::string text =
      failure_of({{"AWS_CONFIG_FILE", "/dev/null"}, {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"}},
                 Code::permission);
  EXPECT_NE(text.find("no credentials"), std::string::npos) << text;
}

TEST_F(Credentials, FilesThatCannotBeReadMatterOnlyWhereTheyAreNeeded) {
  std::filesystem::create_directories(folder_ / "home/.aws/config");  // a folder is no file
  std::filesystem::create_directories(folder_ / "home/.aws/credentials");
  const Variables home = {{"HOME", folder_ / "home"}};
  Variables keys = home;
  keys.insert({{"AWS_ACCESS_KEY_ID", "E"}, {"AWS_SECRET_ACCESS_KEY", "s"}});
  EXPECT_EQ(config_of(keys).credentials.key, "E");
  keys["AWS_PROFILE"] = "other";  // whose endpoint would be missed without a word
  failure_of(keys, Code::io);
  failure_of(home, Code::io);
  keys = {{"HOME", folder_ / "home"}, {"AWS_NO_SIGN_REQUEST", "YES"}};
  EXPECT_TRUE(config_of(keys).credentials.is_anonymous);
  keys["AWS_CONFIG_FILE"] = folder_ / "home/.aws/config";
  failure_of(keys, Code::io);
}

TEST_F(Credentials, NoMessageHasASecret) {
  const std::string text = failure_of(
      {{"AWS_ACCESS_KEY_ID", "K"}, {"AWS_SECRET_ACCESS_KEY", "very secret\r\nX-Evil: 1"}},
      Code::format);
  EXPECT_EQ(text.find("very"), std::string::npos) << text;
  EXPECT_EQ(text.find("Evil"), std::string::npos) << text;
}

TEST_F(Credentials, AnEndpointThatIsNoneIsRefused) {
  failure_of(with({{"AWS_ENDPOINT_URL", "store.example"}}), Code::format);
  failure_of(with({{"AWS_REGION", "us east"}}), Code::format);
}

}  // namespace
}  // namespace sluice
